import Foundation
import NIOConcurrencyHelpers

/// A server in a process of its own: nestd, or one of the limits. Ends when the value goes.
final class Child {
    enum Failure: Error, CustomStringConvertible {
        case notStarted(String)

        var description: String {
            switch self {
            case .notStarted(let what): "cannot start \(what)"
            }
        }
    }

    /// How it ended.
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
    private let process: Process
    private let directory: String?

    /// Starts a program beside this one, or the one at `path`; it prints its port as the first number behind a colon on its first line.
    init(_ name: String, _ arguments: [String], directory: String? = nil, path: String? = nil) throws {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        self.process = Process()
        self.process.executableURL =
            path.map { URL(fileURLWithPath: $0) }
            ?? (name == "nestbench" ? own : own.deletingLastPathComponent().appendingPathComponent(name))
        self.process.arguments = arguments
        // A crash ends the process at once, and not when its stack has been written to nobody.
        self.process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        self.directory = directory
        let output = Pipe()
        self.process.standardOutput = output
        self.process.standardError = FileHandle.nullDevice
        do {
            try self.process.run()
        } catch {
            throw Failure.notStarted("\(name): \(error)")
        }
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            line += more
        }
        let text = String(decoding: line, as: UTF8.self)
        let digits = text.split(separator: ":").dropFirst().first.map { $0.prefix { $0.isNumber } } ?? ""
        guard let port = Int(digits) else {
            self.process.terminate()
            throw Failure.notStarted("\(name): it said \(text)")
        }
        self.port = port
    }

    /// A nestd on a fresh store.
    static func nestd(under parent: String) throws -> Child {
        let directory = try Self.makeDirectory(under: parent)
        return try Self.nestd(in: directory, removes: directory)
    }

    /// A new directory for stores.
    static func makeDirectory(under parent: String) throws -> String {
        let directory = "\(parent)/nestbench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory
    }

    /// A nestd on the store in a directory. `removes`: what is removed when it has ended; `program`: another nestd than the one
    /// beside this program.
    static func nestd(in directory: String, removes: String? = nil, program: String? = nil) throws -> Child {
        try Child(
            "nestd",
            ["--port", "0", "--store", "\(directory)/nest.sqlite", "--log-level", "error"],
            directory: removes,
            path: program
        )
    }

    /// How it ended; `nil` while it runs.
    var end: End? {
        guard !self.process.isRunning else { return nil }
        return self.process.terminationReason == .uncaughtSignal
            ? .signal(self.process.terminationStatus) : .exit(self.process.terminationStatus)
    }

    /// Sends SIGTERM; seconds until it has ended, or `nil` when it had to be killed after so many.
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

    /// Ends it as a crash does: `kill -9`.
    func killNow() {
        kill(self.process.processIdentifier, SIGKILL)
        self.process.waitUntilExit()
    }

    /// Seconds that its threads have worked since it began: what others do on the machine is not in it.
    var processorTime: Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(self.process.processIdentifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return 0
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    var memory: ProcessMemory { ProcessMemory(process: self.process.processIdentifier) }

    /// The most memory that it takes while `body` runs, above what it had before, in bytes.
    func growth(_ body: () async throws -> Void) async throws -> Int {
        // Makes the peak what is in use now (proc(5), since Linux 4.0).
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
