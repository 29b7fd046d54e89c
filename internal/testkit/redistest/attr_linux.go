package redistest

import "syscall"

// diesWithUs keeps a killed test from leaving its server behind.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
