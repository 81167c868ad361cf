// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// ForbidICMP makes this machine one that forbids ICMP to all users, for the rest
// of the test: for its own goroutine, and for the processes that it starts.
// Nothing undoes it, so the goroutine keeps its thread, which ends with it.
func ForbidICMP(tb testing.TB) {
	tb.Helper()
	runtime.LockOSThread()
	// A seccomp filter: a socket of ICMP or ICMPv6 is not permitted.
	const (
		number, protocol = 0, 32 // where seccomp_data has the system call and its third argument
		allow, refuse    = 0x7fff0000, 0x00050000 | uint32(syscall.EPERM)
		noNewPrivileges  = 38
		filterMode       = 2
	)
	filter := [...]syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: number},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: syscall.SYS_SOCKET, Jf: 4},
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: protocol},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: syscall.IPPROTO_ICMP, Jt: 1},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: syscall.IPPROTO_ICMPV6, Jf: 1},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: refuse},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: allow},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		tb.Fatalf("give up new privileges: %v", errno)
	}
	//nolint:gosec // the kernel takes the filter by its address
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, filterMode, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		tb.Skipf("this machine permits no filter of system calls: %v", errno)
	}
}
