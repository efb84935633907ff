import NestServer
import NestStore

// The exit statuses of nestd, as in sysexits(3).

extension ServerError {
    var exitStatus: Int32 {
        switch self {
        case .store(let error): error.exitStatus
        case .addressInUse: 69
        case .cannotListen: 69
        case .listenerLost: 71
        case .webRoot: 78
        case .engine(let error): error.isDamage ? 65 : 74
        case .log(let failure): failure.exitStatus
        case .closing: 74
        }
    }
}

extension StoreError {
    var exitStatus: Int32 {
        switch self {
        case _ where self.isDamage: 65
        case .locked: 75
        case .notAStore, .corrupt, .strayLog, .logDamaged: 65
        case .modelDiffers, .invalidModel, .otherFormat, .cannotOpen, .clusterMismatch: 78
        case .overtaken, .offTheLog, .uncertain, .diverged: 75
        case .refused: 65
        case .retryIndividually(let cause): cause.exitStatus
        case .sqlite, .io, .replaced, .overBudget, .stopping, .postponed: 74
        }
    }
}

extension Store.Configuration.Location {
    /// The location as the start line prints it.
    var description: String {
        switch self {
        case .file(let path): path
        case .memory: "in memory"
        }
    }
}
