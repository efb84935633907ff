import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A shell on its own pseudoterminal. Commands see a terminal and keep the directory, the variables and the background
/// jobs of earlier commands. All its processes are killed on deinit.
public actor Terminal {
    public static let columns = 100
    public static let rows = 40

    /// A shell loop that runs commands from descriptor 9, each ended by a zero byte. After each command it prints a
    /// line with `separator` and the exit status.
    private static let loop = """
        cd "$1" && stty -echo -onlcr
        while IFS= read -r -d '' command <&9; do eval "$command" 9<&-; printf '\\036%d\\n' $?; done
        """
    // Linux constants that the Glibc module does not import: TIOCSPTLCK, TIOCGPTN.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430
    private static let separator: Character = "\u{1e}"

    /// The shell's process id. The shell leads a session, so this is also its process group.
    private let pid: pid_t
    /// The test's ends of the terminal and of the command pipe.
    private let screen: Int32
    private let commands: Int32
    private var bytes: [UInt8] = []

    /// `environment` is added to the tests' environment.
    public init(directory: String, environment: [String: String]) throws {
        let screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (locked, number): (Int32, Int32) = (0, 0)
        guard screen >= 0, ioctl(screen, Self.setLock, &locked) == 0, ioctl(screen, Self.getNumber, &number) == 0 else {
            throw ProcessFailure("no terminal: \(String(cString: strerror(errno)))")
        }
        var size = winsize(ws_row: UInt16(Self.rows), ws_col: UInt16(Self.columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(screen, UInt(TIOCSWINSZ), &size)
        _ = fcntl(screen, F_SETFL, O_NONBLOCK)
        var pipe: [Int32] = [-1, -1]
        guard Glibc.pipe(&pipe) == 0 else { throw ProcessFailure("no pipe") }
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipe[0]) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a session leader opens becomes the controlling terminal.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/pts/\(number)", O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipe[0], 9)
        var attributes = SpawnAttributes.unblocked(SpawnAttributes.newSession)
        defer { posix_spawnattr_destroy(&attributes) }

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let words: [String] = ["/bin/bash", "-c", Self.loop, "bash", directory]
        let arguments = words.map { strdup($0) } + [nil]
        let pointers = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + pointers { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, "/bin/bash", &actions, &attributes, arguments, pointers)
        guard result == 0 else { throw ProcessFailure("cannot start bash: \(String(cString: strerror(result)))") }
        self.pid = pid
        self.screen = screen
        self.commands = pipe[1]
    }

    deinit {
        kill(-self.pid, SIGKILL)
        waitpid(self.pid, nil, 0)
        close(self.screen)
        close(self.commands)
    }

    /// Runs a command to its end and returns its printed lines as shown on the screen.
    public func run(_ command: String) async throws -> [String] {
        self.bytes = []
        try self.start(command)
        let output = try await waitFor("the end of '\(command)'\n\(self.text)") {
            self.read()
            let text = self.text
            guard let end = text.lastIndex(of: Self.separator), text[end...].contains("\n") else {
                return nil as String?
            }
            return String(text[..<end])
        }
        // The last line may have no end.
        return Self.lines(output.hasSuffix("\n") || output.isEmpty ? output : output + "\n")
    }

    /// Starts a command without waiting for its end.
    public func start(_ command: String) throws {
        let bytes = Array(command.utf8) + [0]
        guard write(self.commands, bytes, bytes.count) == bytes.count else {
            throw ProcessFailure("the shell does not accept '\(command)'")
        }
    }

    /// Waits until the running command has printed `count` lines, and returns all its lines.
    public func lines(atLeast count: Int) async throws -> [String] {
        try await waitFor("\(count) lines\n\(self.text)") {
            self.read()
            let lines = Self.lines(self.text)
            return lines.count >= count ? lines : nil
        }
    }

    private var text: String { String(decoding: self.bytes, as: UTF8.self) }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(self.screen, &buffer, buffer.count)
            guard count > 0 else { return }
            self.bytes += buffer[..<count]
        }
    }

    /// Returns the complete lines of a text without control sequences. For a line that was redrawn, returns the last
    /// version.
    private static func lines(_ text: String) -> [String] {
        var lines = text.replacing(/\u{1b}\[[0-9;?]*[A-Za-z]/, with: "").split(
            separator: /\n/,
            omittingEmptySubsequences: false
        )
        lines.removeLast()
        return lines.map { line in
            String(line.split(separator: "\r", omittingEmptySubsequences: true).last ?? "")
        }
    }
}
