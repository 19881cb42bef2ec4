// Package smol gives a Go program virtual machines.
//
// A machine is created from an OCI image, runs commands in the shape of os/exec, takes and gives files, can be
// branched, and is deleted when it is no longer needed. The same [Machine] works on two fleets: a local one, served by
// smolvm on this host (package smol/local), and the smol cloud. Code that takes a [Fleet] works on both.
//
//	svc, err := local.New(local.OptionsFromEnv())
//	if err != nil {
//		return err
//	}
//	defer svc.Close()
//	m, err := svc.Create(ctx, smol.Spec{
//		Image:   "python:3.12-alpine",
//		Network: smol.Network{Open: true}, // the image is pulled from inside
//	}, nil)
//	if err != nil {
//		return err
//	}
//	defer m.Discard()
//	out, err := m.Command("python", "-c", "print(2**10)").Output(ctx)
//
// # Contexts
//
// A context bounds the call it is given to, never the life of the machine. [Cmd.Start] is the one exception, as in
// os/exec: its context bounds the command, and cancelling it kills the command in the machine.
//
// # Errors
//
// Every failure is an [*Error] (with a [Code], the server's words and a hint), an [*ExitError] (the command ran and
// failed), a [*StateError] (the machine is in a state in which the call makes no sense), or wraps a context error.
// Sentinels such as [ErrNotFound] match through errors.Is.
//
// # Nothing is retried blindly
//
// The library never creates twice and never runs a command twice. After an ambiguous failure of a create (a time-out,
// a cut connection) it looks the machine up by name before it says anything; a command has an id chosen before it is
// sent, so that a lost reply finds the command instead of starting it again.
package smol
