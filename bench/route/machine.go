package main

import (
	"bufio"
	"os"
	"strings"
)

// cpuName is what Linux calls the processor; elsewhere it is not known.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "processor not known"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "processor not known"
}
