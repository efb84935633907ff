import Glibc

/// What the kernel says of this process. A figure that it does not have is 0.
struct ProcessFigures {
    let residentBytes: Int
    let uptimeSeconds: Int

    /// Reads two small files of /proc.
    init() {
        let pages = Self.numbers("/proc/self/statm").dropFirst().first ?? 0
        self.residentBytes = Int(pages) * sysconf(Int32(_SC_PAGESIZE))
        // The name of the program, in parentheses, may have spaces; the 20th number after it is when the process
        // started, in ticks since the machine did.
        let started = Self.numbers("/proc/self/stat", after: ")").dropFirst(19).first ?? 0
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        self.uptimeSeconds = started > 0 ? max(0, now.tv_sec - Int(started) / sysconf(Int32(_SC_CLK_TCK))) : 0
    }

    /// Returns the words of a file's first line, after the last `mark`, as numbers; one that is none is 0.
    private static func numbers(_ path: String, after mark: Character? = nil) -> [Int64] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 1_024)
        guard fgets(&bytes, Int32(bytes.count), file) != nil else { return [] }
        var text = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)[...]
        if let mark, let index = text.lastIndex(of: mark) { text = text[text.index(after: index)...] }
        return text.split { $0 == " " || $0 == "\n" }.map { Int64($0) ?? 0 }
    }
}
