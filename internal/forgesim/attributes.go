package forgesim

// Jira is the profile of Jira, Cloud and Data Center. Comments move the clock when they are added and edited; renames of
// what entities hold by id, and property writes, move nothing. Numbers are shared so that a key names one entity of the world.
func Jira() Profile { return Profile{Name: "jira", Moves: JiraMoves(), SharedNumbers: true} }

// JiraMoves is what server-era code and field reports show; on Cloud most of it is not documented.
func JiraMoves() Moves {
	return allMoves.Without(
		LabelRenamed, LabelDeleted,
		MilestoneRenamed, MilestoneClosed, MilestoneDeleted,
		StatusReported, Reacted, Mentioned, AccountDeleted, LinkChanged, Transferred, UpdatedSet,
	)
}

// Touch records a change of something that only one provider's face keeps, such as a custom field.
func (w *World) Touch(ref, as string, c Change) error {
	return w.on(ref, as, func(e *edit, _ int64) error {
		e.touch(c)
		return nil
	})
}
