//go:build !linux

package scratch

func roomInMemory(string) bool { return false }
