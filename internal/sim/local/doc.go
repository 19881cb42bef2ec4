// Package local is a stand-in of the local machine service, `smolvm serve`: an HTTP handler that speaks its wire contract, down to the texts
// of errors and the known traps, over machines of a [sim.Guest]. Statuses, bodies, framing and the order of checks are the
// contract's; what the real service takes from a hypervisor (memory, disks, devices) is missing or told as configured.
//
// A machine outlives its [Server], as a real one does, if the guest can: the next server on the same data directory adopts it.
//
// Differences that a client can see: download bodies above 1 MiB are streamed and hold their connection to the machine until the client
// has read them; published ports are forwarded by the server itself, so they rest while no server runs; a clone and a restored
// checkpoint get copies of the disks and boot from them, memory is not copied; header names are not lower-case.
package local
