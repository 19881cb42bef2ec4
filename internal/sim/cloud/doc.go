// Package cloud is a stand-in of the cloud machine service: an HTTP handler that speaks its wire contract, its several shapes of errors and its
// known traps included, over machines of a [sim.Guest]. What the real service takes from a fleet of hosts (memory, devices, egress, ingress) is
// missing or told as configured; commands and files are real if the guest's are.
//
// A machine outlives its [Server], as a real one does, if the guest can: the next server on the same data directory adopts it.
//
// Differences that a client can see: a branch and a restored checkpoint get copies of the disks and boot from them, memory is not copied; a
// paused machine is kept still, not saved, so its execution is lost with its processes; CPU time is billed as if every CPU were busy; the
// foreground commands of a server die with it; a call whose client has gone goes on; output beyond 256 MiB is dropped; ingress URLs lead nowhere.
// There are no leases: POST /v1/machines/{id}/assign and /v1/leases, of which only clients are known, are routes that this service does not have,
// and so are agents, groups, pools, organizations and the registry.
package cloud
