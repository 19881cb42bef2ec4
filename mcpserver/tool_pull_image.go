package mcpserver

import "context"

type pullImageArgs struct {
	nameArgs
	Image string `json:"image"`
}

type pullImageResult struct {
	Reference    string `json:"reference"`
	Digest       string `json:"digest"`
	Size         int64  `json:"size"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	LayerCount   int    `json:"layerCount"`
}

func pullImage(*Config) *definition {
	return define(about{
		name: "pull-image", title: "Pull image", toolset: "core",
		description: "Fetch an OCI image into the image store of a local machine; a stopped one is booted first. create-machine and run-once fetch their own. " +
			"Use it to see that an image can be had, or for a program that starts it through smolvm: no tool here does. " +
			"The machine needs egress to the registry. The image stays until the machine is deleted. Returns its digest and its size in bytes, unpacked. NOT_FOUND: no such image. UNSUPPORTED on cloud.",
		hints: hints{idempotent: true, openWorld: true},
	}, func(s set) { s.text("name", "image") }, func(ctx context.Context, c *call, in pullImageArgs) (*pullImageResult, error) {
		i, err := c.machine(in.Name).PullImage(ctx, in.Image, nil)
		if err != nil {
			return nil, err
		}
		return &pullImageResult{Reference: i.Reference, Digest: i.Digest, Size: i.Size, Architecture: i.Architecture, OS: i.OS, LayerCount: i.Layers}, nil
	})
}
