import Foundation

/// The memory that a process has in use, as Linux tells it; in bytes, 0 for one that is gone.
struct ProcessMemory {
    let process: Int32

    private func field(_ name: String) -> Int {
        let status = try? String(contentsOfFile: "/proc/\(self.process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first).flatMap { Int($0) }.map { $0 * 1_024 } ?? 0
    }

    var resident: Int { self.field("VmRSS") }

    /// The most since it began, or since `resetPeak`.
    var peak: Int { self.field("VmHWM") }

    func resetPeak() {
        try? "5".write(toFile: "/proc/\(self.process)/clear_refs", atomically: false, encoding: .utf8)
    }
}

/// A run of `nestc`, which stands beside this program, with its output thrown away.
struct MeasuredCommand {
    /// The most memory it had in use, looked at until it ended.
    let peak: Int

    init(server: String, _ arguments: [String]) async throws {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let process = Process()
        process.executableURL = own.deletingLastPathComponent().appendingPathComponent("nestc")
        process.arguments = ["--server", server] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        var peak = 0
        while process.isRunning {
            peak = max(peak, ProcessMemory(process: process.processIdentifier).peak)
            try await Task.sleep(for: .milliseconds(20))
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError.badServer("nestc \(arguments.joined(separator: " ")) failed")
        }
        self.peak = peak
    }
}
