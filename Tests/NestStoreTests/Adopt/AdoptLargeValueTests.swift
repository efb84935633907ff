import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Values of an app that become large values, from its file and from the files beside it.
@Suite struct AdoptLargeValueTests {
    private static func draft() -> ModelDraft {
        var draft = Library.draft
        draft.entities[1].attributes[2].type = .largeData
        draft.entities[1].attributes[0] = .named("title", .largeText)
        draft.entities[1].attributes[0].isOptional = true
        return draft
    }

    @Test func largeValuesComeFromColumnsAndFiles() throws {
        var app = Library.app()
        let cover = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        app.objects[Library.book(1)]!.values["cover"] = .data(cover)
        app.objects[Library.book(2)]!.values["title"] = .string(String(repeating: "long ", count: 30_000))
        let adopted = try AdoptedApp(app)
        let model = try Self.draft().compile()
        let version = AdoptedVersion(name: "App", isCurrent: true, model: model, externalData: ["Book.cover"])
        let report = try adopted.adopt([version])
        #expect(report.refused.isEmpty && report.leftOut.isEmpty)
        let configuration = Store.Configuration(location: .file(adopted.target), model: model)
        let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        defer { try? store.close() }
        #expect(try store.reader.check(deadline: .none) { _ in }.problems == [])
        let book = try #require(model.entity(named: "Book"))
        var found: [[UInt8]] = []
        var titles: [[UInt8]] = []
        for id in 1..<store.nextObjectID {
            for (name, isCover) in [("cover", true), ("title", false)] {
                let property = try #require(book.propertyNumber(named: name))
                guard
                    let export = try? store.reader.exportValue(
                        of: ObjectID(id),
                        property,
                        from: 0,
                        atLeast: Revision(0),
                        isCompressed: false,
                        deadline: .none
                    )
                else { continue }
                var bytes: [UInt8] = []
                var offset = 0
                while let (chunk, next) = try export.chunks.chunk(at: offset) {
                    offset = next
                    bytes += try PackedBytes.unpack(chunk, sizeMax: Limits.chunkUnpackedBytesMax)
                }
                if isCover { found.append(bytes) } else { titles.append(bytes) }
            }
        }
        #expect(found.count == 6 && found.contains(cover) && found.contains([UInt8](repeating: 2, count: 20)))
        #expect(titles.count == 6 && titles.contains { $0.count == 150_000 } && titles.contains(Array("b1".utf8)))
    }
}
