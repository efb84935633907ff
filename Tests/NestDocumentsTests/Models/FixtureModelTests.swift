import Foundation
import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Models with what kept real models from being used; `Tests/Fixtures/Models/README.md` lists the causes.
@Suite struct FixtureModelTests {
    private func path(_ name: String) -> String {
        Repository.root.appending(path: "Tests/Fixtures/Models/\(name)").path
    }

    private func read(_ name: String) throws -> (document: ModelDocument, model: ManagedObjectModel) {
        let document = try ModelFile.read(path: self.path(name))
        let model = try document.draft.compile()
        #expect(model.faults.isEmpty)
        // The JSON form has the same model.
        let json = ModelJSON.text(of: document.draft)
        #expect(try ModelFile.read(Array(json.utf8), name: "json").draft.compile() == model)
        #expect(try ModelDraft(model).compile() == model)
        return (document, model)
    }

    private func fault(_ name: String) -> String {
        do {
            _ = try ModelFile.read(path: self.path(name)).draft.compile()
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func aRequiredToManyNeedsNoObject() throws {
        let (document, model) = try self.read("Notebooks.xcdatamodeld")
        #expect(document.warnings.isEmpty)
        let notebook = try #require(model.entity(named: "Notebook"))
        #expect(notebook.relationships.allSatisfy { $0.isToMany && $0.admits(count: 0) })
        let notebooks = try #require(model.entity(named: "Reader")?.relationships.first)
        #expect(!notebooks.admits(count: 0) && notebooks.admits(count: 1) && !notebooks.admits(count: 4))
    }

    @Test func leftOverValuesAreWarnings() throws {
        for name in ["Recipes.xcdatamodeld", "Recipes.xcdatamodeld/Recipes 2.xcdatamodel"] {
            let (document, model) = try self.read(name)
            let recipe = try #require(model.entity(named: "Recipe"))
            let defaults = recipe.attributes.map { "\($0.name) \($0.defaultValue)" }
            #expect(defaults.contains("servings \(AttributeValue.integer(0))"))
            #expect(defaults.contains("isFavourite \(AttributeValue.boolean(false))"))
            #expect(defaults.contains("isPublic \(AttributeValue.boolean(true))"))
            #expect(recipe.attributes.allSatisfy { $0.minimum == .null })
            #expect(document.warnings.count == (name.hasSuffix("d") ? 7 : 6), "\(document.warnings)")
            #expect(recipe.attributes.compactMap(\.pattern) == ["[a-z-]+"])
        }
    }

    @Test func oneWayRelationshipsAreLoadedWithAWarning() throws {
        let (document, model) = try self.read("Music.xcdatamodeld")
        #expect(document.warnings.count == 6 && document.warnings.allSatisfy { $0.contains("has no inverse") })
        let hidden = model.entities.flatMap(\.relationships).filter(\.isHiddenInverse)
        #expect(Set(hidden.map(\.name)).count == 6)
        let lines = ModelDrawing.lines(of: model)
        #expect(!lines.contains { $0.contains("nest_inverse") })
        #expect(lines.filter { $0.contains("hidden inverse") }.count == 6)
        let (later, _) = try self.read("Music.xcdatamodeld/Music 2.xcdatamodel")
        #expect(later.warnings.count == 5)
    }

    @Test func anOrderedRelationshipThatIsItsOwnInverseBecomesUnordered() throws {
        let (document, model) = try self.read("OrderedFriends.xcdatamodel")
        #expect(
            document.warnings.count == 1 && document.warnings[0].contains("ordered is ignored"),
            "\(document.warnings)"
        )
        #expect(model.entities.flatMap(\.relationships).allSatisfy { !$0.isOrdered && $0.isToMany })
    }

    @Test func aModelWithoutEntitiesIsLoadedWithAWarning() throws {
        let (document, model) = try self.read("NoEntities.xcdatamodel")
        #expect(document.warnings == ["the model has no entity yet: no object can be stored"])
        #expect(model.entities.isEmpty)
    }

    @Test func refusalsSayWhatToDo() {
        #expect(self.fault("TwoVersions.xcdatamodeld").contains("specify one of One.xcdatamodel, Two.xcdatamodel"))
        #expect(self.fault("Xcode3.xcdatamodel").contains("open it in Xcode 4 or later and save it again"))
    }
}
