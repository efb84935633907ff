import CEpoll
import Foundation
import Glibc

/// What a process and all below it take of the machine, as Linux tells it.
struct ProcessTree {
    let root: pid_t

    /// The root and whoever descends from it.
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

    /// Seconds of processor time, user and system, of those that live and of those that the root has outlived.
    ///
    /// Of the living not from /proc, where it is counted in hundredths of a second: a thousand processes would lose seconds.
    var processorSeconds: Double {
        // Behind the state: utime is the 11th, cutime and cstime are the 13th and 14th.
        let fields = Self.fields(self.root) ?? []
        let ended = fields.count > 14 ? (Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0) : 0
        return self.members.reduce(ended / Double(sysconf(Int32(_SC_CLK_TCK)))) { sum, process in
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return sum }
            return sum + Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    /// Bytes: of one process the most that were ever resident, of several what they have now, shared pages once.
    var memory: Int {
        let members = self.members
        guard members.count > 1 else { return Self.number("VmHWM:", of: "/proc/\(self.root)/status") }
        return members.reduce(0) { $0 + Self.number("Pss:", of: "/proc/\($1)/smaps_rollup") }
    }

    /// Of /proc/N/stat, from the state on; the name before it may hold anything.
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

    /// Its last lines, on one.
    static func end(of path: String) -> String {
        (Self.contents(path) ?? "").split(separator: "\n").suffix(3).joined(separator: " | ")
    }
}
