package schedule

import (
	"math/bits"
	"time"
)

// calendar is the five fields of a pattern as sets of bits. It knows readings of a
// wall clock (seconds since 1970 as if the wall were UTC) and no zone.
type calendar struct {
	minute, hour, dom, month, dow uint64
	either                        bool // both day fields restrict: one of them is enough
}

// searchYears bounds the search for a day: 29 February comes back after eight
// years over a century like 2100.
const searchYears = 9

// next returns the first matching reading at or after from.
func (c *calendar) next(from int64) (int64, bool) {
	minute := floorDiv(from+59, 60)
	today := floorDiv(minute, 1440)
	year, month, date := time.Unix(today*daySeconds, 0).UTC().Date()
	first, m, last := today-int64(date)+1, int(month), year+searchYears // first: day number of the 1st
	if c.days(year, m, first)>>date&1 == 1 {
		if reading, ok := c.later(today, int(minute-today*1440)); ok {
			return reading, true
		}
	}
	for year < last {
		if rest := c.days(year, m, first) >> (date + 1) << (date + 1); rest != 0 {
			day := first + int64(bits.TrailingZeros64(rest)) - 1
			return c.earliest(day, c.hour), true
		}
		first, date = first+int64(monthLength(year, m)), 0
		if m++; m > 12 {
			year, m = year+1, 1
		}
	}
	return 0, false
}

// later returns the first match on a matching day from a minute of it on.
func (c *calendar) later(day int64, minute int) (int64, bool) {
	hour, minute := minute/60, minute%60
	if rest := c.minute >> minute; rest != 0 && c.hour>>hour&1 == 1 {
		return day*daySeconds + int64(hour*3600+(minute+bits.TrailingZeros64(rest))*60), true
	}
	if rest := c.hour >> (hour + 1) << (hour + 1); rest != 0 {
		return c.earliest(day, rest), true
	}
	return 0, false
}

// earliest is the first matching minute of the lowest of some hours.
func (c *calendar) earliest(day int64, hours uint64) int64 {
	return day*daySeconds + int64(bits.TrailingZeros64(hours)*3600+bits.TrailingZeros64(c.minute)*60)
}

// count returns how many matching readings lie in [from, to), by arithmetic: its
// cost grows with the months between them, not with the matches.
func (c *calendar) count(from, to int64) int64 {
	if from >= to {
		return 0
	}
	lo, hi := floorDiv(from+59, 60), floorDiv(to+59, 60)
	loDay, hiDay := floorDiv(lo, 1440), floorDiv(hi, 1440)
	n := c.countDays(loDay, hiDay) * c.perDay()
	if c.onDay(loDay) {
		n -= c.before(int(lo - loDay*1440))
	}
	if c.onDay(hiDay) {
		n += c.before(int(hi - hiDay*1440))
	}
	return n
}

func (c *calendar) perDay() int64 {
	return int64(bits.OnesCount64(c.minute) * bits.OnesCount64(c.hour))
}

// before is the number of matches on a matching day before a minute of it.
func (c *calendar) before(minute int) int64 {
	hour, minute := minute/60, minute%60
	n := bits.OnesCount64(c.hour&(1<<hour-1)) * bits.OnesCount64(c.minute)
	if c.hour>>hour&1 == 1 {
		n += bits.OnesCount64(c.minute & (1<<minute - 1))
	}
	return int64(n)
}

func (c *calendar) onDay(day int64) bool {
	year, month, date := time.Unix(day*daySeconds, 0).UTC().Date()
	return c.days(year, int(month), day-int64(date)+1)>>date&1 == 1
}

// countDays is the number of matching days in [from, to).
func (c *calendar) countDays(from, to int64) int64 {
	year, month, date := time.Unix(from*daySeconds, 0).UTC().Date()
	first, m, n := from-int64(date)+1, int(month), 0
	for first < to {
		days := c.days(year, m, first)
		if first < from {
			days = days >> date << date
		}
		if rest := to - first; rest < 31 { // bit rest+1 and above are at or after to
			days &= 1<<(rest+1) - 1
		}
		n += bits.OnesCount64(days)
		first += int64(monthLength(year, m))
		if m++; m > 12 {
			year, m = year+1, 1
		}
	}
	return int64(n)
}

// days is the set of matching days of a month, bit 1 for the 1st. The weekdays are
// turned so that the week begins with the 1st, and laid out five times.
func (c *calendar) days(year, month int, first int64) uint64 {
	if c.month>>month&1 == 0 {
		return 0
	}
	turn := weekday(first)
	week := (c.dow>>turn | c.dow<<(7-turn)) & 0b111_1111
	week = (week | week<<7 | week<<14 | week<<21 | week<<28) << 1
	exist := uint64(1)<<(monthLength(year, month)+1) - 2
	if c.either {
		return (c.dom | week) & exist
	}
	return c.dom & week & exist
}

// weekday of a day number, Sunday as 0: day 0 was a Thursday.
func weekday(day int64) int { return int((day%7 + 11) % 7) }

var monthLengths = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func monthLength(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthLengths[month]
}
