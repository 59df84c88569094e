package poll

// Version names everything that can change the verdicts of a target's only harness, as dispatch records and the ledger
// do, so that a run can say of which version the decision is that it has read.
func Version(t *Target) (string, error) {
	c, err := compile(t)
	if err != nil || len(c.version) == 0 {
		return "", err
	}
	return c.version[0], nil
}
