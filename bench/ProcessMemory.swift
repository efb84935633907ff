import Foundation

/// The memory of a process in bytes, as Linux reports it; 0 if the process has ended.
struct ProcessMemory {
    let process: Int32

    private func field(_ name: String) -> Int {
        let status = try? String(contentsOfFile: "/proc/\(self.process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first).flatMap { Int($0) }.map { $0 * 1_024 } ?? 0
    }

    var resident: Int { self.field("VmRSS") }

    /// The peak since the process started or since `resetPeak`.
    var peak: Int { self.field("VmHWM") }

    func resetPeak() {
        try? "5".write(toFile: "/proc/\(self.process)/clear_refs", atomically: false, encoding: .utf8)
    }
}

/// A run of `nestc` from this program's directory. Its output is discarded.
struct MeasuredCommand {
    /// The peak memory, sampled until the process ended.
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
            throw BenchError.failed("nestc \(arguments.joined(separator: " ")) failed")
        }
        self.peak = peak
    }
}
