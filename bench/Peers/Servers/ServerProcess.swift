import CEpoll
import Glibc
import PeerWires

/// A server in its own process, which ends with this program even if this program is killed (`setpriv --pdeathsig`).
final class ServerProcess {
    let process: pid_t
    private let name: String
    private let log: String
    private let stopSignal: Int32
    private var isRunning = true

    /// - Parameters:
    ///   - log: a file for its output, which is shown if it does not start.
    ///   - user: the user to run it as, if root runs this program.
    ///   - stopSignal: the signal for a normal shutdown.
    init(
        _ command: [String],
        log: String,
        user: String? = nil,
        stopSignal: Int32 = SIGTERM
    ) throws {
        self.name = command[0].split(separator: "/").last.map(String.init) ?? command[0]
        self.log = log
        self.stopSignal = stopSignal
        self.process = try Self.spawn(Self.guarded(command, user: user), log: log)
    }

    /// Runs a command and waits until it ends.
    static func run(_ command: [String], log: String, user: String? = nil) throws {
        let process = try Self.spawn(Self.guarded(command, user: user), log: log)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw PeerRefusal("\(command[0]) failed: \(TextFile.end(of: log))") }
    }

    /// Waits until the server accepts connections on the port.
    func waitUntilListening(port: Int, _ interrupt: Interrupt) throws {
        let start = monotonicTime()
        while !LoopbackPort.isOpen(port) {
            guard waitpid(self.process, nil, WNOHANG) == 0 else {
                self.isRunning = false
                throw PeerRefusal("\(self.name) ended at once: \(self.lastOutput)")
            }
            guard seconds(since: start) < 60 else {
                throw PeerRefusal("\(self.name) does not listen: \(self.lastOutput)")
            }
            try interrupt.pause(milliseconds: 10)
        }
    }

    /// The last lines of its output.
    var lastOutput: String { TextFile.end(of: self.log) }

    /// Ends the server with the stop signal, and after ten seconds with SIGKILL.
    func stop() {
        guard self.isRunning else { return }
        self.isRunning = false
        kill(self.process, self.stopSignal)
        let start = monotonicTime()
        while waitpid(self.process, nil, WNOHANG) == 0 {
            if seconds(since: start) > 10 {
                kill(self.process, SIGKILL)
                waitpid(self.process, nil, 0)
                return
            }
            usleep(5_000)
        }
    }

    deinit { self.stop() }

    private static func guarded(_ command: [String], user: String?) -> [String] {
        var guarded = ["setpriv", "--pdeathsig", "TERM"]
        if let user, getuid() == 0 { guarded += ["--reuid", user, "--regid", user, "--init-groups"] }
        return guarded + ["--"] + command
    }

    /// Starts a process in its own process group, so that Ctrl-C on the terminal reaches this program alone.
    private static func spawn(_ command: [String], log: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        var pipeSignal = sigset_t()
        sigemptyset(&pipeSignal)
        sigaddset(&pipeSignal, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &pipeSignal)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)
        )
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let result = posix_spawnp(&process, command[0], &actions, &attributes, &arguments, environ)
        guard result == 0 else {
            throw PeerRefusal("cannot start \(command[0]): \(String(cString: strerror(result)))")
        }
        return process
    }
}
