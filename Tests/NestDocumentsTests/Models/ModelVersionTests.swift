import Foundation
import NestDocuments
import NestTestSupport
import Testing

/// The versions of a model, for `nestd adopt`.
@Suite struct ModelVersionTests {
    private static func versions(_ name: String) throws -> [ModelVersion] {
        try ModelFile.versions(path: Repository.root.appending(path: "Tests/Fixtures/Models/\(name)").path)
    }

    @Test func versionsComeByNameWithTheCurrentOne() throws {
        let music = try Self.versions("Music.xcdatamodeld")
        #expect(music.map(\.name) == ["Music", "Music 2"])
        let two = try Self.versions("TwoVersions.xcdatamodeld/")
        #expect(two.map(\.name) == ["One", "Two"] && !two.contains { $0.isCurrent })
        let alone = try Self.versions("Notebooks.xcdatamodeld")
        #expect(alone.map(\.name) == ["Notebooks"] && alone.map(\.isCurrent) == [true])
        let one = try Self.versions("Recipes.xcdatamodeld/Recipes 2.xcdatamodel")
        #expect(one.map(\.name) == ["Recipes 2"] && one.map(\.isCurrent) == [true])
        #expect(throws: ModelFileError.self) { try Self.versions("None.xcdatamodeld") }
    }

    @Test func aVersionThatCannotBeUsedHasItsFaults() throws {
        let versions = try Self.versions("Xcode3.xcdatamodel")
        #expect(versions.count == 1)
        #expect(throws: ModelFileError.self) { try versions[0].content.get() }
    }

    @Test func whatCoreDataKeepsElsewhereIsNamed() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/contents"
        try Data(
            """
            <model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Photo">
            <attribute name="image" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            <attribute name="small" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="NO"/>
            <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="a.@count"/>
            </entity></model>
            """.utf8
        ).write(to: URL(filePath: path))
        let content = try #require(try ModelFile.versions(path: path).first).content.get()
        #expect(content.externalData == ["Photo.image"] && content.derived == ["Photo.count"])
        let json = try ModelFile.versions(path: Repository.root.appending(path: "Examples/phone-book/model.json").path)
        #expect(try json.map(\.name) == ["model.json"] && json[0].content.get().externalData.isEmpty)
    }
}
