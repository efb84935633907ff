import Glibc

/// The kernel's figures for this process and for its store's disk.
package struct ProcessMetrics: Sendable {
    private let directory: String?
    private let startTime: Double

    /// `storePath`: the store's file; `nil` when it is in memory. Create it when the process starts.
    package init(storePath: String?) {
        self.directory = storePath.map { path in
            path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        self.startTime = Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }

    package func families() -> [MetricFamily] {
        func family(_ name: String, _ kind: MetricFamily.Kind, _ value: Double) -> MetricFamily {
            MetricFamily(name, kind, help: MetricHelp.text(of: name), value: value)
        }
        var families = [family("process_start_time_seconds", .gauge, self.startTime)]
        var usage = rusage()
        if getrusage(RUSAGE_SELF.rawValue, &usage) == 0 {
            let seconds = [usage.ru_utime, usage.ru_stime].reduce(0) {
                $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
            }
            families.append(family("process_cpu_seconds_total", .counter, seconds))
        }
        if let pages = Self.residentPages() {
            families.append(
                family("process_resident_memory_bytes", .gauge, Double(pages * sysconf(Int32(_SC_PAGESIZE))))
            )
        }
        if let count = Self.openFileCount() { families.append(family("process_open_fds", .gauge, Double(count))) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            families.append(family("process_max_fds", .gauge, Double(limit.rlim_cur)))
        }
        var disk = statvfs()
        if let directory, statvfs(directory, &disk) == 0 {
            families.append(family("nest_store_free_bytes", .gauge, Double(disk.f_bavail) * Double(disk.f_frsize)))
        }
        return families
    }

    /// Returns the second number of /proc/self/statm.
    private static func residentPages() -> Int? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 128)
        guard fgets(&bytes, Int32(bytes.count), file) != nil else { return nil }
        let text = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let numbers = text.split(separator: " ")
        return numbers.count > 1 ? Int(numbers[1]) : nil
    }

    private static func openFileCount() -> Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            // Do not count "." and ".."; the directory that is being read is subtracted below.
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return count - 1
    }
}
