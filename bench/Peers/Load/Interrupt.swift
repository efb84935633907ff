import CEpoll
import Glibc
import PeerWires

/// Ctrl-C and SIGTERM as a descriptor to look at, so that whoever is waiting throws, and all servers and directories go on the
/// way out.
struct Interrupt {
    let descriptor: Int32

    /// Once, before anything is started: from then on the signals end nothing by themselves. Writing to a server that is gone
    /// is an error like others.
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

    /// Waits; throws when one of the signals comes or has come.
    func pause(milliseconds: Int) throws {
        var poll = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        if Glibc.poll(&poll, 1, Int32(milliseconds)) > 0 { throw Interrupted() }
    }
}

struct Interrupted: Error, CustomStringConvertible {
    var description: String { "interrupted" }
}

/// A system call that failed, with the reason that it left.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    init(_ what: String) {
        self.description = "\(what): \(String(cString: strerror(errno)))"
    }
}

/// Nanoseconds of a clock that only goes on.
func monotonicTime() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

func seconds(since start: UInt64) -> Double { Double(monotonicTime() - start) / 1e9 }
