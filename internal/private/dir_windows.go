package private

import (
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// makePrivate makes a directory whose access list names this user and the system only, and inherits nothing.
func makePrivate(dir string) error {
	sid, err := userSID()
	if err != nil {
		return err
	}
	sd, err := windows.SecurityDescriptorFromString(privateSDDL(sid))
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	sa := &windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(*sa))
	if err := windows.CreateDirectory(name, sa); err != nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return nil
}

func checkPrivate(dir string, _ fs.FileInfo) error {
	sid, err := userSID()
	if err == nil {
		var sd *windows.SECURITY_DESCRIPTOR
		sd, err = windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
		if err == nil {
			err = checkSDDL(sd.String(), sid)
		}
	}
	if err != nil {
		return refuse(dir, fmt.Sprintf("is not private: %v", err), `remove it, or: icacls "`+dir+`" /inheritance:r /grant:r "%USERNAME%:(OI)(CI)F"`)
	}
	return nil
}

// userSID is the user that this program runs as.
func userSID() (string, error) {
	u, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return u.User.Sid.String(), nil
}
