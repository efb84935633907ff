import Foundation
import NestModel
import NestDocuments
import NestTestSupport
import Testing

@Suite struct ModelPathTests {
    private let directory = TemporaryDirectory()

    @discardableResult
    private func write(_ text: String, _ path: String) throws -> String {
        let url = URL(filePath: self.directory.path).appending(path: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    private func entities(_ path: String) throws -> [String] {
        try ModelFile.read(path: "\(self.directory.path)/\(path)").draft.entities.map(\.name)
    }

    private func error(_ path: String) -> ModelFileError? {
        do {
            _ = try ModelFile.read(path: "\(self.directory.path)/\(path)")
            return nil
        } catch {
            return error
        }
    }

    private func versionList(_ name: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>
        """
    }

    private func model(_ name: String) -> String { Samples.model("<entity name=\"\(name)\"/>") }

    @Test func aModelIsFoundInXcodesDirectories() throws {
        try self.write(self.model("One"), "M.xcdatamodeld/M.xcdatamodel/contents")
        #expect(try self.entities("M.xcdatamodeld") == ["One"])
        #expect(try self.entities("M.xcdatamodeld/M.xcdatamodel") == ["One"])
        #expect(try self.entities("M.xcdatamodeld/M.xcdatamodel/contents") == ["One"])
        #expect(try self.entities("M.xcdatamodeld/") == ["One"])
        // Other files are recognised by their content, not by their names.
        try self.write(self.model("Two"), "anything.txt")
        #expect(try self.entities("anything.txt") == ["Two"])
        try self.write(#"{"entities": [{"name": "Three"}]}"#, "contents.xml")
        #expect(try self.entities("contents.xml") == ["Three"])
    }

    @Test func theCurrentVersionIsRead() throws {
        try self.write(self.model("One"), "M.xcdatamodeld/M.xcdatamodel/contents")
        try self.write(self.model("Two"), "M.xcdatamodeld/M.1. 2.xcdatamodel/contents")
        let error = try #require(self.error("M.xcdatamodeld"))
        #expect(error.faults.count == 1 && error.description.contains("M.1. 2.xcdatamodel, M.xcdatamodel"))
        try self.write(self.versionList("M.1. 2.xcdatamodel"), "M.xcdatamodeld/.xccurrentversion")
        #expect(try self.entities("M.xcdatamodeld") == ["Two"])
        for bad in ["gone.xcdatamodel", "../../etc", ""] {
            try self.write(self.versionList(bad), "M.xcdatamodeld/.xccurrentversion")
            #expect(self.error("M.xcdatamodeld")?.reason == .invalid, "\(bad)")
        }
        try self.write("no list", "M.xcdatamodeld/.xccurrentversion")
        #expect(self.error("M.xcdatamodeld")?.description.contains("property list") == true)
        try self.write(String(repeating: " ", count: 70_000), "M.xcdatamodeld/.xccurrentversion")
        #expect(self.error("M.xcdatamodeld")?.description.contains("bytes") == true)
        // Xcode also writes an empty dictionary: as without the file.
        try self.write("<plist version=\"1.0\"><dict/></plist>", "M.xcdatamodeld/.xccurrentversion")
        let unnamed = try #require(self.error("M.xcdatamodeld"))
        #expect(unnamed.description.contains("specify one of M.1. 2.xcdatamodel, M.xcdatamodel, or choose"))
        try self.write(self.model("Only"), "N.xcdatamodeld/N.xcdatamodel/contents")
        try self.write("<plist version=\"1.0\"><dict/></plist>", "N.xcdatamodeld/.xccurrentversion")
        #expect(try self.entities("N.xcdatamodeld") == ["Only"])
        // A path to the version list itself is refused.
        try self.write(self.versionList("M.xcdatamodel"), "M.xcdatamodeld/.xccurrentversion")
        #expect(self.error("M.xcdatamodeld/.xccurrentversion") != nil)
    }

    @Test func filesWithoutAModelAreRefusedWithTheirKind() throws {
        #expect(self.error("nothing")?.reason == .missing)
        try self.write("", "empty/readme.txt")
        #expect(self.error("empty")?.description.contains("neither a 'contents' file") == true)
        try self.write("", "old.xcdatamodel/elements")
        #expect(self.error("old.xcdatamodel")?.description.contains("old versions of Xcode") == true)
        try self.write("", "older.xcdatamodeld/old.xcdatamodel/elements")
        #expect(self.error("older.xcdatamodeld")?.description.contains("old versions of Xcode") == true)
        try self.write("", "M.momd/M.mom")
        #expect(self.error("M.momd")?.description.contains("compiled") == true)
        #expect(mkfifo("\(self.directory.path)/pipe", 0o600) == 0)
        #expect(self.error("pipe")?.reason == .unreadable)
        let error = try #require(self.error("empty/readme.txt"))
        #expect(
            error.description
                == "\(self.directory.path)/empty/readme.txt: it is empty; a model is Core Data's XML or nest's JSON"
        )
    }

    @Test func hugeFilesAreNotRead() throws {
        let path = try self.write("", "huge")
        #expect(truncate(path, off_t(Limits.modelFileBytesMax + 1)) == 0)
        #expect(self.error("huge")?.description.contains("bytes") == true)
        let bytes = [UInt8](repeating: UInt8(ascii: " "), count: Limits.modelFileBytesMax + 1)
        #expect(throws: ModelFileError.self) { try ModelFile.read(bytes, name: "huge") }
    }

    /// Large files are read and checked in reasonable time.
    @Test func largeFilesAreRead() {
        let attribute = "<attribute name=\"a\" attributeType=\"String\"/>"
        let many = String(repeating: attribute, count: 20_000)
        #expect(faults(Samples.thing(many)).first?.contains("20000 properties") == true)
        let entities = String(repeating: "<entity name=\"a\"/>", count: 20_000)
        #expect(faults(Samples.model(entities)).first?.contains("entities") == true)
    }
}
