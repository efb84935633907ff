import CEpoll
import Foundation
import Glibc

/// The resources that a process and its descendants use, as Linux reports them.
struct ProcessTree {
    let root: pid_t

    /// The root and its descendants.
    private var members: [pid_t] {
        var children: [pid_t: [pid_t]] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = pid_t(name), let parent = Self.fields(process)?[1] else { continue }
            children[pid_t(parent) ?? 0, default: []].append(process)
        }
        var members = [self.root]
        var next = 0
        while next < members.count {
            members += children[members[next]] ?? []
            next += 1
        }
        return members
    }

    /// The processor time in seconds, user and system, of the living processes and of the root's ended children.
    ///
    /// For living processes it does not use /proc, which counts hundredths of a second: with a thousand processes,
    /// seconds would be lost.
    var processorSeconds: Double {
        // After the state: utime is the 11th field, cutime and cstime are the 13th and 14th.
        let fields = Self.fields(self.root) ?? []
        let ended = fields.count > 14 ? (Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0) : 0
        return self.members.reduce(ended / Double(sysconf(Int32(_SC_CLK_TCK)))) { sum, process in
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return sum }
            return sum + Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    /// The memory in bytes. For one process it is the peak resident memory; for several it is their current memory,
    /// with shared pages counted once.
    var memory: Int {
        let members = self.members
        guard members.count > 1 else { return Self.number("VmHWM:", of: "/proc/\(self.root)/status") }
        return members.reduce(0) { $0 + Self.number("Pss:", of: "/proc/\($1)/smaps_rollup") }
    }

    /// Returns the fields of /proc/N/stat, from the state on. The name before the state may contain any characters.
    private static func fields(_ process: pid_t) -> [Substring]? {
        guard let text = TextFile.contents("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else {
            return nil
        }
        return text[text.index(after: end)...].split(separator: " ")
    }

    private static func number(_ field: String, of path: String) -> Int {
        let line = TextFile.contents(path)?.split(separator: "\n").first { $0.hasPrefix(field) }
        return (line?.split(whereSeparator: { !$0.isNumber }).first).flatMap { Int($0) }.map { $0 * 1_024 } ?? 0
    }
}

/// The processor time of this program, in seconds.
func ownProcessorSeconds() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}

enum TextFile {
    static func contents(_ path: String) -> String? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the last three lines of a file, joined to one line.
    static func end(of path: String) -> String {
        (Self.contents(path) ?? "").split(separator: "\n").suffix(3).joined(separator: " | ")
    }
}
