/// A strict parser of the Prometheus text format 0.0.4. It refuses every line that it does not understand.
public struct ScrapedMetrics: Sendable {
    public struct Fault: Error, CustomStringConvertible {
        public let description: String
    }

    /// The kinds by metric name.
    public private(set) var kinds: [String: String] = [:]
    public private(set) var helps: [String: String] = [:]
    /// The values by name and labels as written.
    public private(set) var values: [String: Double] = [:]

    public init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(description: "the last line has no newline") }
        var finished: Set<String> = []
        var current = ""
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            func fault(_ what: String) -> Fault { Fault(description: "\(what): \(line)") }
            if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/) {
                let name = String(match.1)
                guard finished.insert(name).inserted else { throw fault("duplicate metric") }
                self.helps[name] = String(match.2)
                current = name
            } else if let match = line.wholeMatch(
                of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary)/
            ) {
                guard match.1 == current, self.kinds[current] == nil else { throw fault("TYPE without its HELP") }
                self.kinds[current] = String(match.2)
            } else if let match = line.wholeMatch(
                of:
                    /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="(\\[\\"n]|[^"\\])*",?)+\})? (NaN|[+-]Inf|-?[0-9.e+-]+)/
            ) {
                guard let kind = self.kinds[current] else { throw fault("a sample without TYPE") }
                let suffixes =
                    kind == "histogram"
                    ? ["_bucket", "_sum", "_count"] : kind == "summary" ? ["_sum", "_count"] : [""]
                guard suffixes.contains(where: { match.1 == current + $0 }) else { throw fault("not of \(current)") }
                let text = match.5.replacing("Inf", with: "infinity")
                guard let value = Double(text) else { throw fault("not a number") }
                let key = "\(match.1)\(match.2 ?? "")"
                guard self.values.updateValue(value, forKey: key) == nil else { throw fault("duplicate sample") }
            } else {
                throw fault("invalid line")
            }
        }
        try self.checkHistograms()
    }

    /// The values that may only grow: counters, and the buckets, counts and sums of histograms.
    public var growing: [String: Double] {
        self.values.filter { key, _ in
            let name = key.prefix { $0 != "{" }
            if self.kinds[String(name)] == "counter" { return true }
            return self.kinds.contains { $0.value == "histogram" && name.hasPrefix($0.key + "_") }
        }
    }

    /// Checks that buckets are cumulative and that the +Inf bucket equals the count.
    private func checkHistograms() throws {
        for (name, kind) in self.kinds where kind == "histogram" {
            let buckets = self.values.compactMap { key, value -> (Double, Double)? in
                guard let match = key.wholeMatch(of: /(.+)_bucket\{le="(.+)"\}/), match.1 == name else { return nil }
                return Double(match.2.replacing("Inf", with: "infinity")).map { ($0, value) }
            }.sorted { $0.0 < $1.0 }
            let isRising = zip(buckets, buckets.dropFirst()).allSatisfy { $0.1 <= $1.1 }
            guard isRising, buckets.last?.0 == .infinity, buckets.last?.1 == self.values[name + "_count"] else {
                throw Fault(description: "the buckets of \(name) do not add up")
            }
        }
    }
}
