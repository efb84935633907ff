/// A command that `nestc` runs for the user, with the same standard input and output.
struct ChildCommand {
    private static let pause = Duration.milliseconds(5)

    private let arguments: [String]
    private let variables: [String: String]

    /// `variables` are added to the environment.
    init(_ arguments: [String], variables: [String: String]) {
        self.arguments = arguments
        self.variables = variables
    }

    /// Runs the command to its end. Returns its exit code, or 128 plus the number of the signal that ended it. If the
    /// task is cancelled, sends SIGTERM to the command.
    func run() async throws -> Int32 {
        let pid = try self.start()
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 {
            do {
                try await Task.sleep(for: Self.pause)
            } catch {
                kill(pid, SIGTERM)
                throw error
            }
        }
        // The low seven bits are the signal; without one, the next eight are the code.
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    private func start() throws -> pid_t {
        // The command must not inherit the signals that nestc ignores or catches.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGPIPE, SIGINT, SIGTERM] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        for (name, value) in self.variables { setenv(name, value, 1) }
        let pointers = self.arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, self.arguments[0], nil, &attributes, pointers, environmentPointer)
        guard result == 0 else {
            // The same codes as a shell.
            throw ChildEnded(
                status: result == ENOENT ? 127 : 126,
                message: "cannot run '\(self.arguments[0])': \(errorText(result))"
            )
        }
        return pid
    }
}

/// Ends nestc with the exit code of the command that it ran.
struct ChildEnded: Error {
    var status: Int32
    /// What nestc reports besides.
    var message: String?
}
