package mcpserver

import "context"

type pullImageArgs struct {
	nameArgs
	Image string `json:"image"`
}

type pullImageResult struct {
	Reference    string `json:"reference"`
	Digest       string `json:"digest"`
	Size         int64  `json:"size" jsonschema:"bytes, unpacked"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	LayerCount   int    `json:"layerCount"`
}

func pullImage(*Config) *definition {
	return define(about{
		name: "pull-image", title: "Pull image", toolset: "core",
		description: "Pull a further OCI image into a local machine, booting it if it is stopped. create-machine and run-once pull their own image; this is for one that programs inside the machine use. " +
			"The machine needs egress to the registry. Returns the digest and the size. Local only: UNSUPPORTED on cloud.",
		hints: hints{idempotent: true, openWorld: true},
	}, func(s set) { s.text("name", "image") }, func(ctx context.Context, c *call, in pullImageArgs) (*pullImageResult, error) {
		i, err := c.machine(in.Name).PullImage(ctx, in.Image, nil)
		if err != nil {
			return nil, err
		}
		return &pullImageResult{Reference: i.Reference, Digest: i.Digest, Size: i.Size, Architecture: i.Architecture, OS: i.OS, LayerCount: i.Layers}, nil
	})
}
