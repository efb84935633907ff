import Glibc

/// How much of the processor a thread gets when there is not enough for all.
enum ThreadPriority {
    /// Of threads that read what may be large, beside the commits.
    private static let background: Int32 = 15

    /// The calling thread gives way to others from here on. Linux keeps this for each thread; it cannot fail to be lowered.
    static func giveWay() {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.background)
    }
}
