//go:build !linux

package redistest

import "syscall"

// diesWithUs can promise nothing here; a killed test may leave its server.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
