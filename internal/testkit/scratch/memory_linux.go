package scratch

import "syscall"

const (
	tmpfsMagic = 0x01021994 // linux/magic.h
	// enough for a few clusters with many databases; containers often have
	// 64 MB.
	enough = 2 << 30
)

func roomInMemory(dir string) bool {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfsMagic {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) >= enough && syscall.Access(dir, 2|1) == nil // W_OK, X_OK
}
