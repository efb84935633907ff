import ArgumentParser
import Foundation
import NestCache
import NestClient
import NestModel
import NestProtocol

/// The first state of a list from a client's cache, without a server.
struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Show a list of 1,000 rows from the client's cache, without a server.",
        discussion: """
            The time is that from an open cache to the first state of the list. The limit is the same rows, rebuilt from
            memory. Then the cost of recording one diff, for the client's event loop.

            Example: nestbench cache --rows 10000
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Rows of the list.") var rows = 1_000
    @Option(help: "Diffs to record.") var diffs = 10_000

    private static let columns = [PropertyNumber(1), PropertyNumber(2), PropertyNumber(3), PropertyNumber(4)]

    private var request: ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: ObjectID(1), relationship: PropertyNumber(6)),
            projection: Self.columns
        )
    }

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        let directory = "\(self.options.directory)/nestbench-cache-\(UUID())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let view = self.view
        let path = "\(directory)/lists"
        let cache = try CacheFile(path: path)
        cache.record([.replace(view)])
        await cache.close()
        let name = "\(Report.short(Double(self.rows))) rows"
        var first = Measurement(
            workload: "cache",
            parameters: "\(name), to the first state",
            unit: "ms",
            nest: [],
            limitName: "the same rows, rebuilt from memory; milliseconds",
            limit: [],
            isTime: true,
            wanted: "at most 50 ms"
        )
        var opening = Measurement(
            workload: "cache",
            parameters: "opening the file",
            unit: "ms",
            nest: [],
            limitName: "",
            limit: [],
            isTime: true
        )
        for _ in 0..<self.options.rounds {
            var configuration = ClientConfiguration(host: "127.0.0.1", port: 1, session: .fresh)
            opening.nest.append(try self.time { configuration.cache = try CacheFile(path: path) } * 1_000)
            let client = NestClient(configuration)
            let request = self.request
            let time = try await seconds {
                try await client.withFetchedResults(request) { results in
                    var changes = results.makeAsyncIterator()
                    _ = try await changes.next()
                    precondition(results.state.total == self.rows && !results.isCurrent)
                }
            }
            first.nest.append(time * 1_000)
            first.limit.append(try self.time { _ = try view.load(as: request) } * 1_000)
            await client.close()
        }
        report.add(first)
        report.add(opening)
        try await self.record(view, path, report)
    }

    private func time(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private func flush(_ cache: CacheFile) async throws -> Double { try await seconds { await cache.flush() } }

    private var view: CachedView {
        let rows = (1...self.rows).map { number in
            Row(
                id: ObjectID(Int64(number)),
                values: [
                    .string(BenchText.title(number)), .string("a note of some words for row \(number)"),
                    .boolean(number % 3 == 0), .date(Int64(number) * 1_000_000),
                ]
            )
        }
        let state = SectionedSnapshot(
            revision: Revision(1),
            projection: Self.columns,
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
        let frames = CachedView.frames(of: state, digest: state.digest)
        return CachedView(
            request: self.request.cacheKey,
            identity: ClientStateMachine.cacheIdentity(token: nil, store: nil),
            modelHash: 1,
            historyID: Identifier128(high: 1, low: 1),
            revision: state.revision,
            digest: state.digest,
            recording: 1,
            sequence: frames.count,
            frames: frames
        )
    }

    /// Records diffs as a client does, each by itself.
    private func record(_ view: CachedView, _ path: String, _ report: Report) async throws {
        var cost = Measurement(
            workload: "cache",
            parameters: "recording one diff",
            unit: "us",
            nest: [],
            limitName: "",
            limit: [],
            isTime: true
        )
        var writing = cost
        writing.parameters = "writing \(Report.short(Double(self.diffs))) diffs"
        writing.unit = "ms"
        var batches = 0
        for _ in 0..<self.options.rounds {
            let cache = try CacheFile(path: path)
            cache.record([.replace(view)])
            await cache.flush()
            let before = cache.counters.batches
            let seconds = self.time {
                for number in 0..<self.diffs {
                    let append = self.append(UInt64(number) + 1, view, number)
                    cache.record([.append(append)])
                }
            }
            cost.nest.append(seconds * 1e6 / Double(self.diffs))
            writing.nest.append(try await self.flush(cache) * 1_000)
            batches = cache.counters.batches - before
            await cache.close()
        }
        report.add(cost)
        report.add(writing)
        report.note("\(batches) transactions")
    }

    /// The diff that changes one value, with its frame's bytes.
    private func append(_ revision: UInt64, _ view: CachedView, _ number: Int) -> CacheAppend {
        var diff = ResultsDiff(
            from: Revision(revision),
            to: Revision(revision + 1),
            total: self.rows,
            digest: view.digest
        )
        let row = RowPosition(0, number % self.rows)
        diff.updates = [.init(path: row, values: [(PropertyNumber(1), .string(BenchText.title(number)))])]
        var writer = ByteWriter()
        writer.write(diff: diff)
        return CacheAppend(
            request: view.request,
            recording: view.recording,
            sequence: view.sequence + number,
            base: diff.from,
            frames: [CachedFrame(type: MessageType.diff.rawValue, body: writer.bytes)],
            revision: diff.to,
            digest: diff.digest
        )
    }
}
