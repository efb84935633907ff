import NestModel

/// nest's own form of a model: JSON with every property of a model. `docs/models.md` describes it.
public enum ModelJSON {
    static let format = "nest-model"
    /// The newest version that is read, and the one that is written.
    static let version = 1

    /// Returns the JSON on several lines, always the same for the same draft.
    public static func text(of draft: ModelDraft) -> String { Self.node(of: draft).pretty() + "\n" }

    public static func text(of model: ManagedObjectModel) -> String { Self.text(of: ModelDraft(model)) }

    /// Returns the JSON on one line.
    public static func line(of draft: ModelDraft) -> String { Self.node(of: draft).text }

    /// Throws all faults of the form, and those of the draft as far as it could be made.
    static func document(_ node: JSONElement, name: String) throws(ModelFileError) -> ModelDocument {
        var reader = JSONModelReader()
        let draft = reader.draft(node)
        if !reader.faults.isEmpty {
            var faults = reader.faults
            do { _ = try draft.compile() } catch { faults += error.faults }
            throw ModelFileError(.invalid, name: name, faults: faults)
        }
        return ModelDocument(draft: draft)
    }
}
