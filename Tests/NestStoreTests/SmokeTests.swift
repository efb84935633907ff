import NestModel
import NestStore
import NestTestSupport
import Testing

@Suite struct SmokeTests {
    @Test func opens() throws {
        let directory = TemporaryDirectory()
        let store = try Store(.init(location: .file(directory.path + "/a.sqlite"), model: .nestedList), newHistoryID: Identifier128(high: 1, low: 2))
        #expect(store.head == Revision(0))
        try store.close()
    }
}
