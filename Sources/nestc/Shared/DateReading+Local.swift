import NestModel

extension DateReading {
    /// The time of this machine: its clock, and the zone of the person (TZ, or the system's).
    static var local: DateReading {
        tzset()
        return DateReading(now: microsecondsNow()) { moment in
            var seconds = time_t(moment)
            var parts = tm()
            return localtime_r(&seconds, &parts) == nil ? 0 : Int64(parts.tm_gmtoff)
        }
    }
}
