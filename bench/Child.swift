import Foundation
import NIOConcurrencyHelpers

/// A server in its own process: nestd, or the server of a limit. The process ends when this object is released.
final class Child {
    enum Failure: Error, CustomStringConvertible {
        case notStarted(String)

        var description: String {
            switch self {
            case .notStarted(let what): "cannot start \(what)"
            }
        }
    }

    /// How the process ended.
    enum End: Equatable, CustomStringConvertible {
        case exit(Int32)
        case signal(Int32)

        var description: String {
            switch self {
            case .exit(let status): "exit status \(status)"
            case .signal(let number): "signal \(number)"
            }
        }
    }

    let port: Int
    /// The port for browsers, if the server's second line has one.
    let webPort: Int?
    private let process: Process
    private let directory: String?

    /// Starts the program `name` in this program's directory, or the program at `path`.
    ///
    /// The first line of its output must contain the port: the first number after a colon. `hasWeb`: the second line
    /// must contain the URL of the port for browsers.
    init(
        _ name: String,
        _ arguments: [String],
        directory: String? = nil,
        path: String? = nil,
        hasWeb: Bool = false
    ) throws {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        self.process = Process()
        self.process.executableURL =
            path.map { URL(fileURLWithPath: $0) }
            ?? (name == "nestbench" ? own : own.deletingLastPathComponent().appendingPathComponent(name))
        self.process.arguments = arguments
        // Without a backtrace, a crash ends the process at once.
        self.process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        self.directory = directory
        let output = Pipe()
        self.process.standardOutput = output
        // A limit's server prints only why it ended.
        if name != "nestbench" { self.process.standardError = FileHandle.nullDevice }
        do {
            try self.process.run()
        } catch {
            throw Failure.notStarted("\(name): \(error)")
        }
        var line = Data()
        while line.count(where: { $0 == UInt8(ascii: "\n") }) < (hasWeb ? 2 : 1) {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            line += more
        }
        let text = String(decoding: line, as: UTF8.self)
        let digits = text.split(separator: ":").dropFirst().first.map { $0.prefix { $0.isNumber } } ?? ""
        guard let port = Int(digits) else {
            self.process.terminate()
            throw Failure.notStarted("\(name): its first line is \(text)")
        }
        self.port = port
        self.webPort = text.firstMatch(of: /https?:\/\/[^\/]*:(\d+)\//).flatMap { Int($0.1) }
    }

    /// Starts a nestd on a new store.
    static func nestd(under parent: String, hasWeb: Bool = false) throws -> Child {
        let directory = try Self.makeDirectory(under: parent)
        return try Self.nestd(in: directory, removes: directory, hasWeb: hasWeb)
    }

    /// Creates a directory for stores and returns its path.
    static func makeDirectory(under parent: String) throws -> String {
        let directory = "\(parent)/nestbench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory
    }

    static func removeDirectory(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Starts a nestd on the store in a directory.
    ///
    /// `removes`: a directory to remove after nestd has ended. `program`: the nestd to start instead of the one in this
    /// program's directory.
    static func nestd(
        in directory: String,
        removes: String? = nil,
        program: String? = nil,
        hasWeb: Bool = false
    ) throws -> Child {
        try Child(
            "nestd",
            ["--port", "0", "--store", "\(directory)/nest.sqlite", "--log-level", "error"]
                + (hasWeb ? ["--web", "127.0.0.1:0"] : []),
            directory: removes,
            path: program,
            hasWeb: hasWeb
        )
    }

    /// How the process ended; `nil` while it runs.
    var end: End? {
        guard !self.process.isRunning else { return nil }
        return self.process.terminationReason == .uncaughtSignal
            ? .signal(self.process.terminationStatus) : .exit(self.process.terminationStatus)
    }

    /// Sends SIGTERM and returns the seconds until the process ended. If it runs longer than `seconds`, kills it and
    /// returns `nil`.
    func terminate(within seconds: Double) async throws -> Double? {
        let start = ContinuousClock.now
        self.process.terminate()
        while self.process.isRunning {
            guard (ContinuousClock.now - start).seconds < seconds else {
                self.killNow()
                return nil
            }
            try await Task.sleep(for: .milliseconds(2))
        }
        return (ContinuousClock.now - start).seconds
    }

    /// Stops the process where it is, or lets it go on.
    func pause(_ isPaused: Bool) {
        Glibc.kill(self.process.processIdentifier, isPaused ? SIGSTOP : SIGCONT)
    }

    /// Kills the process with SIGKILL, like a crash.
    func killNow() {
        kill(self.process.processIdentifier, SIGKILL)
        self.process.waitUntilExit()
    }

    /// The processor time of all its threads since the start, in seconds. Other load on the machine does not change it.
    var processorTime: Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(self.process.processIdentifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return 0
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    var memory: ProcessMemory { ProcessMemory(process: self.process.processIdentifier) }

    /// Returns the number of bytes by which its peak memory grows while `body` runs.
    func growth(_ body: () async throws -> Void) async throws -> Int {
        // Resets the peak to the current memory (proc(5), since Linux 4.0).
        try "5".write(
            toFile: "/proc/\(self.process.processIdentifier)/clear_refs",
            atomically: false,
            encoding: .utf8
        )
        let before = self.memory.peak
        try await body()
        return self.memory.peak - before
    }

    deinit {
        if self.process.isRunning { self.process.terminate() }
        self.process.waitUntilExit()
        if let directory = self.directory { try? FileManager.default.removeItem(atPath: directory) }
    }
}
