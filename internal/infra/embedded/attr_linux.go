package embedded

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// procAttr makes a child that runs as id, in a process group of its own so that
// Ctrl-C reaches only us and we stop things in order, and that the kernel sends
// a signal when the thread that started it dies.
func procAttr(id identity, onParentDeath syscall.Signal) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: onParentDeath}
	switch {
	case id.namespace:
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: id.uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: id.gid, Size: 1}}
	case id.account != "":
		a.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
	}
	return a
}

// commandLine returns the arguments of a running process.
func commandLine(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	var args []string
	for f := range bytes.SplitSeq(bytes.TrimRight(b, "\x00"), []byte{0}) {
		args = append(args, string(f))
	}
	return args
}
