#if canImport(Glibc)
@_exported import Glibc
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Darwin
#endif

/// A variable of the environment; `nil` when it is not set or empty.
func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
}

/// The environment that a new process gets: this one's.
var environmentPointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
    #if canImport(Darwin)
    _NSGetEnviron().pointee
    #else
    environ
    #endif
}

/// Microseconds since 1970-01-01 UTC.
func microsecondsNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}

func errorText(_ number: Int32) -> String { String(cString: strerror(number)) }

/// Reads what is there, at most as much as fits. -1 and `errno` on failure.
func readBytes(_ file: Int32, _ bytes: inout [UInt8]) -> Int {
    while true {
        let count = read(file, &bytes, bytes.count)
        if count >= 0 || errno != EINTR { return count }
    }
}
