package private

// For the tests of what Windows says about a directory.
var (
	CheckSDDL   = checkSDDL
	PrivateSDDL = privateSDDL
)
