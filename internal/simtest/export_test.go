package simtest

// Refuse is what happens where no machine can be made.
var Refuse = refuse
