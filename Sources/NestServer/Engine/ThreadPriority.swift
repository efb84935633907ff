import Glibc

/// The scheduling priority of threads.
enum ThreadPriority {
    /// The nice value of threads that make large reads while the engine commits.
    private static let background: Int32 = 15

    /// Lowers the priority of the calling thread. On Linux priorities belong to threads, and lowering one cannot fail.
    static func lower() {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.background)
    }
}
