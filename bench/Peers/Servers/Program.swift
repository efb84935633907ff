import Foundation
import Glibc

/// Finds programs.
enum Program {
    /// Returns the path of a program in `directories` or in PATH.
    static func find(_ name: String, in directories: [String] = []) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (directories + path + ["/usr/sbin", "/sbin"]).map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Returns the first number with a dot in the program's output.
    static func version(_ program: String, _ arguments: [String]) -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return "" }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let words = String(decoding: data, as: UTF8.self).split { !$0.isNumber && $0 != "." }
        return words.first { $0.contains(".") && $0.first != "." }.map(String.init) ?? ""
    }

    /// Returns a path in this program's directory.
    static func beside(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}
