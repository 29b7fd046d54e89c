//go:build !linux && !windows

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// procAttr makes a child that runs as id in a process group of its own. Only
// Linux can tie a child's life to ours; elsewhere a postmaster that outlives us
// is taken over by the next start. There are no user namespaces here either.
func procAttr(id identity, _ syscall.Signal) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	switch {
	case id.namespace:
		a.Chroot = "/nonexistent" // fails the probe of chooseIdentity
	case id.account != "":
		a.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
	}
	return a
}

// commandLine returns the arguments of a running process, split at spaces.
func commandLine(pid int) []string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
