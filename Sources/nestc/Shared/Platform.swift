#if canImport(Glibc)
@_exported import Glibc
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Darwin
#endif

/// Returns the value of an environment variable, or `nil` if it is not set or empty.
func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
}

/// The environment for a new process: that of this process.
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

/// Reads the available bytes, at most as many as fit. Returns -1 and sets `errno` on failure; an interrupted wait for
/// standard input fails with `ECANCELED`.
func readBytes(_ file: Int32, _ bytes: inout [UInt8]) -> Int {
    while true {
        if file == STDIN_FILENO, !Interruption.waits(for: file) {
            errno = ECANCELED
            return -1
        }
        let count = read(file, &bytes, bytes.count)
        if count >= 0 || errno != EINTR { return count }
    }
}
