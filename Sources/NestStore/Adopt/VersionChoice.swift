import NestModel
import NestSchema

/// The version of a model that fits a store.
///
/// Core Data's hashes of entities cannot be computed without Core Data. So the names of entities, their parents, and
/// the columns decide. Of several versions that fit, the one with the fewest differences is chosen, then the current
/// version, then the last one by name.
struct VersionChoice {
    let version: AdoptedVersion
    let layout: ModelLayout
    let plan: AdoptPlan
    /// Why this version, for people.
    let reason: String

    /// The number of differences of each version that a refusal lists.
    private static let differencesMax = 3

    /// `name`: the version that the user wants.
    static func choose(
        _ versions: [AdoptedVersion],
        named name: String?,
        _ source: SourceLayout,
        path: String
    ) throws -> VersionChoice {
        let tried = versions.map { version in
            let layout = ModelLayout(version.model)
            return (version: version, layout: layout, plan: AdoptPlanner.plan(version, layout, source))
        }
        let fitting = tried.filter(\.plan.fits)
        if let name {
            guard let wanted = tried.first(where: { $0.version.name == name }) else {
                let list = versions.map(\.name).joined(separator: ", ")
                throw AdoptFailure(.otherModel, "the model has no version \(name); its versions are \(list)")
            }
            guard wanted.plan.fits else {
                throw AdoptFailure(.otherModel, self.refusal(path, [(name, wanted.plan)]))
            }
            return VersionChoice(
                version: wanted.version,
                layout: wanted.layout,
                plan: wanted.plan,
                reason: "as --version says"
            )
        }
        guard let least = fitting.map(\.plan.differenceCount).min() else {
            throw AdoptFailure(.otherModel, self.refusal(path, tried.map { ($0.version.name, $0.plan) }))
        }
        let best = fitting.filter { $0.plan.differenceCount == least }.sorted { $0.version.name < $1.version.name }
        let chosen = best.first(where: \.version.isCurrent) ?? best.last!
        let others = best.map(\.version.name).filter { $0 != chosen.version.name }
        return VersionChoice(
            version: chosen.version,
            layout: chosen.layout,
            plan: chosen.plan,
            reason: self.reason(
                isOnly: versions.count == 1,
                fitting: fitting.count,
                others: others,
                isCurrent: chosen.version.isCurrent
            )
        )
    }

    private static func reason(isOnly: Bool, fitting: Int, others: [String], isCurrent: Bool) -> String {
        if isOnly { return "the only version" }
        if fitting == 1 { return "the only version that fits" }
        if others.isEmpty { return "the version that fits best" }
        let why = isCurrent ? "the current version" : "the last by name"
        return "\(why); \(others.joined(separator: ", ")) would fit as well: see --version"
    }

    private static func refusal(_ path: String, _ plans: [(name: String, plan: AdoptPlan)]) -> String {
        let lines = plans.map { name, plan in
            let more = plan.missing.count - Self.differencesMax
            return "\(name): \(plan.missing.prefix(Self.differencesMax).joined(separator: "; "))"
                + (more > 0 ? "; and \(more) more" : "")
        }
        return "no version of the model fits \(path): " + lines.joined(separator: ". ")
    }
}
