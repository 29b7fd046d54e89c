//go:build linux

package chaos

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// shiftClock sets the host's clock wrong for this process alone, by whole seconds,
// while its stopwatch goes on as it was: what a wrong battery or a stray NTP server
// does to a machine. Nothing in the program knows of it, and nothing is spared:
// asynq, the drivers and net/http read the same clock.
//
// A Go program reads it through a function that the kernel maps into each process,
// the vDSO, which libraries that are preloaded, as libfaketime, cannot reach. So that
// function is overwritten, in our own copy of the page, by one that asks the kernel
// and adds the difference.
func shiftClock(by time.Duration) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return fmt.Errorf("where the vDSO is: %w", err)
			}
		}
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	vdso, err := elf.NewFile(io.NewSectionReader(memory, from, to-from))
	if err != nil {
		return fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := vdso.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("read the vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			before := time.Now()
			if _, err := memory.WriteAt(wrongClock(by), from+int64(s.Value)); err != nil {
				return err
			}
			if got := time.Now().Round(0).Sub(before.Round(0)); (got - by).Abs() > time.Second {
				return fmt.Errorf("the clock went by %v", got)
			}
			return nil
		}
	}
	return errors.New("the vDSO has no clock_gettime")
}

// wrongClock is clock_gettime(clock in edi, answer to rsi) as it should not be. The
// wall clock is the clock 0.
func wrongClock(by time.Duration) []byte {
	code := []byte{
		0xb8, 0xe4, 0, 0, 0, // mov eax, 228: the number of the call
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 0x0d, // jnz to the ret
		0x48, 0xb9, // mov rcx, seconds
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(by/time.Second))
	return append(code,
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3) // ret
}
