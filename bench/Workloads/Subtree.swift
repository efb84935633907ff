import ArgumentParser
import NestClient
import NestProtocol
import NestModel

/// Imports and exports a whole tree with the client library: the times that a user waits.
struct SubtreeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subtree",
        abstract: "Import and export 1 M items: as a chain, with ten children each, and all below one parent.",
        discussion: """
            The limit is SQLite alone inserting the same rows in one transaction, and reading them in preorder with a
            recursive query. The bytes are compared with the same data as JSON under zstd -3.

            Example: nestbench subtree --items 100000 --shapes chain
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Items in the tree.") var items = 1_000_000
    @Option(parsing: .upToNextOption, help: "Shapes: chain, ten or flat.") var shapes = TreeShape.allCases
    @Option(help: "Objects to fetch one by one, for comparison.") var single = 2_000

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        for shape in self.shapes {
            // Each shape has its own server, so that the peak memory is that of the shape.
            let target = try BenchTarget(self.options)
            let configuration = ClientConfiguration(
                host: target.host,
                port: target.port,
                clientName: "nestbench",
                session: .fresh
            )
            try await NestClient.withClient(configuration) { client in
                let top = try await self.measure(shape, client, target, report)
                if target.child != nil { try await self.measureMemory(of: top, target, report) }
            }
            try await target.shutdown()
        }
    }

    /// The measurements of all rounds.
    private struct Figures {
        var imports: (nest: [Double], limit: [Double], use: [HardwareUse]) = ([], [], [])
        var exports: (nest: [Double], limit: [Double], use: [HardwareUse]) = ([], [], [])
        var wireBytes = 0
        var rawBytes = 0
    }

    private func measure(
        _ shape: TreeShape,
        _ client: NestClient,
        _ target: BenchTarget,
        _ report: Report
    ) async throws -> ObjectID {
        var figures = Figures()
        let memory = target.child?.memory.resident ?? 0
        var last = ObjectID(1)
        for round in 0..<self.options.rounds {
            Progress.show("subtree: \(self.items) items, \(shape.rawValue), round \(round + 1)")
            let top = try await self.importTree(shape, client, &figures)
            last = top
            try await self.exportTree(top, client, &figures)
            let limit = try SQLiteLimit(directory: self.options.directory)
            defer { limit.close() }
            let count = Double(self.items)
            let disk = try Disk.syncsPerSecond(in: self.options.directory)
            let importing = HardwareMeter()
            figures.imports.limit.append(count / (try limit.insertTree(self.items, shape)))
            figures.imports.use.append(importing.stop(syncs: 1, disk: disk))
            let exporting = HardwareMeter()
            figures.exports.limit.append(count / (try limit.readInPreorder()))
            figures.exports.use.append(exporting.stop())
        }
        Progress.clear()
        let what = "\(Report.short(Double(self.items))), \(shape.rawValue)"
        self.add("import of \(what)", figures.imports, "SQLite alone inserting them in one transaction", "0.65", report)
        self.add("export of \(what)", figures.exports, "SQLite alone reading them in preorder", "0.6", report)
        let json = self.jsonBytes(shape)
        let ratio = Double(figures.wireBytes) / Double(json.packed)
        report.note(
            "\(Self.mega(figures.wireBytes)) on the wire, \(Self.mega(figures.rawBytes)) of values; as JSON "
                + "\(Self.mega(json.raw)), under zstd -3 \(Self.mega(json.packed)): \(Report.fixed(ratio)) of that (at most 0.9)"
        )
        if let peak = target.child?.memory.peak {
            report.note("the server's memory grew by at most \(Self.mega(peak - memory))")
        }
        let each = try await self.fetchSingly(client)
        report.note("one by one, with a request for each: \(Report.short(each)) items/s")
        return last
    }

    /// Measures the memory of an export in both processes: in the server above its memory before, in `nestc` above the
    /// peak of exporting one item.
    private func measureMemory(of top: ObjectID, _ target: BenchTarget, _ report: Report) async throws {
        guard let memory = target.child?.memory else { return }
        let server = "\(target.host):\(target.port)"
        for format in ["jsonl", "opml"] {
            Progress.show("subtree: nestc export --format \(format)")
            let leaf = "\(top.rawValue + Int64(self.items) - 1)"
            let idle = try await MeasuredCommand(server: server, ["export", leaf, "--format", format]).peak
            memory.resetPeak()
            let before = memory.resident
            let peak = try await MeasuredCommand(server: server, ["export", "\(top)", "--format", format]).peak
            Progress.clear()
            report.note(
                "nestc export --format \(format): nestc \(Self.mega(peak - idle)), nestd "
                    + "\(Self.mega(memory.peak - before)) above idle (at most 64 MiB each)"
            )
        }
    }

    private func add(
        _ parameters: String,
        _ figures: (nest: [Double], limit: [Double], use: [HardwareUse]),
        _ limitName: String,
        _ goal: String,
        _ report: Report
    ) {
        report.add(
            Measurement(
                workload: "subtree",
                parameters: parameters,
                unit: "/s",
                nest: figures.nest,
                limitName: limitName,
                limit: figures.limit,
                limitUse: figures.use,
                wanted: "floor 0.4, goal \(goal)"
            )
        )
    }

    private static func mega(_ bytes: Int) -> String { "\(Report.fixed(Double(bytes) / 1e6)) MB" }

    private func importTree(_ shape: TreeShape, _ client: NestClient, _ figures: inout Figures) async throws -> ObjectID
    {
        let request = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )
        let depths = shape.depths(self.items)
        var next = 0
        var first: ObjectID?
        let time = try await seconds {
            let receipt = try await client.importSubtree(request) { () -> [SubtreeRow]? in
                guard next < self.items else { return nil }
                let rows = (next..<min(next + 1_000, self.items)).map {
                    SubtreeRow(depth: depths[$0], id: nil, values: [.string(BenchText.title($0))])
                }
                next += rows.count
                return rows
            }
            first = receipt.firstInserted
        }
        guard let first else { throw BenchError.failed("nothing was imported") }
        figures.imports.nest.append(Double(self.items) / time)
        return first
    }

    private func exportTree(_ top: ObjectID, _ client: NestClient, _ figures: inout Figures) async throws {
        let request = SubtreeRequest(
            root: top,
            relationship: PropertyNumber(6),
            properties: [PropertyNumber(1)]
        )
        var count = 0
        var bytes = (wire: 0, raw: 0)
        let time = try await seconds {
            try await client.fetchSubtree(request) { subtree in
                bytes.wire = subtree.byteCount
                for try await rows in subtree {
                    count += rows.count
                    bytes.raw += rows.reduce(0) { $0 + ($1.values[0].stringValue?.utf8.count ?? 0) }
                }
            }
        }
        guard count == self.items else { throw BenchError.failed("\(count) of \(self.items) items arrived") }
        (figures.wireBytes, figures.rawBytes) = bytes
        figures.exports.nest.append(Double(self.items) / time)
    }

    private func jsonBytes(_ shape: TreeShape) -> (raw: Int, packed: Int) {
        var json: [UInt8] = []
        for (index, depth) in shape.depths(self.items).enumerated() {
            json += "{\"depth\":\(depth),\"id\":\(index + 2),\"title\":\"\(BenchText.title(index))\"}\n".utf8
        }
        return (json.count, Zstandard.Compressor().compress(json, level: 3).count)
    }

    private func fetchSingly(_ client: NestClient) async throws -> Double {
        let time = try await seconds {
            for index in 0..<self.single {
                let source = FetchSource(object: ObjectID(Int64(index + 2)), relationship: PropertyNumber(6))
                let request = ObjectFetchRequest(entity: EntityNumber(1), source: source)
                _ = try await client.fetch(request)
            }
        }
        return Double(self.single) / time
    }
}

enum TreeShape: String, CaseIterable, ExpressibleByArgument {
    case chain
    /// Each item has ten children.
    case ten
    case flat

    /// Returns the depths of the rows in preorder. The first row is the root of the tree.
    func depths(_ count: Int) -> [Int] {
        switch self {
        case .chain: Array(0..<count)
        case .flat: (0..<count).map { min($0, 1) }
        case .ten: Self.depthsOfTen(count)
        }
    }

    /// Uses as many levels as the items need.
    private static func depthsOfTen(_ count: Int) -> [Int] {
        var (levels, size, last) = (0, 1, 1)
        while size < count { (levels, last) = (levels + 1, last * 10); size += last }
        var depths: [Int] = []
        // For each level of the current path, the number of siblings so far.
        var path = [1]
        while depths.count < count {
            depths.append(path.count - 1)
            if path.count <= levels {
                path.append(1)
            } else {
                while path.count > 1, path[path.count - 1] == 10 { path.removeLast() }
                path[path.count - 1] += 1
            }
        }
        return depths
    }
}

/// Titles like those that people write: some words, the same for the same number.
enum BenchText {
    private static let words = [
        "milk", "bread", "call", "write", "the", "report", "garden", "plan", "meeting", "with", "Anna", "Peter", "book",
        "read", "chapter", "fix", "door", "buy", "tickets", "for", "concert", "tax", "letter", "review", "draft", "new",
        "ideas", "about", "trip", "mountains", "clean", "kitchen", "pay", "bill", "order", "parts", "test", "release",
    ]

    static func title(_ number: Int) -> String {
        var state = UInt64(truncatingIfNeeded: number) &* 0x9e37_79b9_7f4a_7c15
        var text = ""
        for _ in 0..<(2 + Int(state >> 62)) {
            state ^= state >> 31
            state &*= 0xbf58_476d_1ce4_e5b9
            if !text.isEmpty { text += " " }
            text += Self.words[Int(state >> 33) % Self.words.count]
        }
        return "\(text) \(number % 1_000)"
    }
}
