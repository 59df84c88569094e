package github

import "sync"

// The most entities that are asked for at once: a page of a listing, with two small collections each, and a read, with
// up to six. They keep a request at one point and well under the width at which the server was seen to give up (pages of
// 100 pull requests with rich selections came back null; 50 took five seconds; 25 three).
const (
	maxListed = 50
	maxRead   = 20
)

// climb is after how many good answers in a row a size that was halved is doubled again; twice as many after each time
// that it had to be halved, up to mostClimb: a request that fails so costs more than one that does not.
const (
	climb     = 16
	mostClimb = 1024
)

// size is how many entities one request asks for: halved when the server cannot compute an answer, and doubled again
// when it long could. It is kept across calls, so that the next cycle does not begin with what failed.
type size struct {
	mu        sync.Mutex
	most, now int
	good      int
	before    int // the size before the failures of late
	patience  int
}

func (s *size) reset(most int) { s.most, s.now, s.patience = most, most, climb/2 }

func (s *size) get() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// less halves the size that failed; false when there is nothing left to halve: then it was not the size, and it is what
// it was before.
func (s *size) less(failed int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good > 0 || s.before == 0 { // the first of a row of failures
		s.before, s.patience = s.now, min(2*s.patience, mostClimb)
	}
	s.good = 0
	if failed <= 1 {
		s.now, s.before = s.before, 0
		return false
	}
	s.now = min(s.now, failed/2)
	return true
}

func (s *size) fine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good++; s.good >= s.patience && s.now < s.most {
		s.good, s.now = 0, min(s.now*2, s.most)
	}
}
