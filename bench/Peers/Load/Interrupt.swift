import CEpoll
import Glibc
import PeerWires

/// Ctrl-C, SIGTERM and SIGHUP as a descriptor to poll. A waiting function throws, so that all servers end and all
/// directories are removed.
struct Interrupt {
    let descriptor: Int32

    /// Call once, before starting servers. From then on the signals do not end this program, and writing to a closed
    /// connection is an error instead of a signal.
    init() throws {
        var signals = Self.signals
        sigprocmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
        self.descriptor = signalfd(-1, &signals, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        guard self.descriptor >= 0 else { throw SystemFailure("signalfd") }
    }

    static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        return signals
    }

    /// Waits. Throws if one of the signals arrives or has arrived.
    func pause(milliseconds: Int) throws {
        var poll = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        if Glibc.poll(&poll, 1, Int32(milliseconds)) > 0 { throw Interrupted() }
    }
}

struct Interrupted: Error, CustomStringConvertible {
    var description: String { "interrupted" }
}

/// A failed system call, with the reason in `errno`.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    init(_ what: String) {
        self.description = "\(what): \(String(cString: strerror(errno)))"
    }
}

/// Returns the nanoseconds of a monotonic clock.
func monotonicTime() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

func seconds(since start: UInt64) -> Double { Double(monotonicTime() - start) / 1e9 }
