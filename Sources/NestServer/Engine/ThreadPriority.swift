import CScheduling
import Glibc

/// The scheduling priority of threads.
enum ThreadPriority {
    /// The nice value of threads that make large reads while the engine commits.
    private static let background: Int32 = 15
    /// The time slice of these threads: the shortest that Linux takes. A thread keeps its processor until its slice
    /// ends, even if one with a higher priority wakes: with the usual slice a commit would wait for milliseconds.
    private static let backgroundSliceNanoseconds: UInt64 = 100_000

    /// Lowers the priority of the calling thread. On Linux priorities belong to threads, and lowering one cannot fail.
    static func lower() {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.background)
        // Linux before 6.12, or a sandbox that forbids the call, leaves the usual slice.
        _ = nest_set_slice(Self.background, Self.backgroundSliceNanoseconds)
    }
}
