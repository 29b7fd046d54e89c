package schedule

import "time"

// OnWall returns the instant that a reading of the wall clock names: its first
// occurrence where it occurs twice, and the first instant after the gap where it does
// not occur, which is what a wall-clock schedule fires at. time.Date promises neither.
// The reading's own zone is not looked at.
func OnWall(reading time.Time, loc *time.Location) time.Time {
	_, offset := reading.Zone()
	named := reading.Unix() + int64(offset)
	before := stretchAt(loc, named-3*daySeconds) // not there yet: no zone is three days off
	return time.Unix(firstReach(loc, before, named), 0).In(loc)
}
