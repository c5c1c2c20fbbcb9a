import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.InstanceImpl;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.io.DataInputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import moa.classifiers.meta.OzaBoost;
import moa.core.Utils;

/**
 * Takes MOA's OzaBoost through a stream of two classes: every example is answered, then learnt.
 *
 * <p>Usage: OzaDriver file base poisson|weighted seed members. The file holds two big-endian ints, n and d,
 * then n rows of d + 1 doubles: the features, then the class, 0 or 1. The base learner is named as in MOA
 * (trees.HoeffdingTree), or is "column": member j answers with the sign of feature j and learns nothing. The
 * stream is gone through twice from the beginning, the first time to let the compiler do its work. Three
 * lines come out: CPU ns of the second time; the answers, a digit each; for each member the weight it had
 * right, the weight it had wrong, and its vote.
 */
public final class OzaDriver {
    private OzaDriver() {}

    /** Shows what is protected in MOA. */
    private static final class Oza extends OzaBoost {
        private static final long serialVersionUID = 1L;

        void start(String base, boolean weighted, int seed, int members) {
            if (base.equals("column")) {
                baseLearnerOption.setCurrentObject(new MoaDriver.Column());
            } else {
                baseLearnerOption.setValueViaCLIString(base);
            }
            ensembleSizeOption.setValue(members);
            pureBoostOption.setValue(weighted);
            setRandomSeed(seed);
            prepareForUse();
            resetLearning();
            for (int m = 0; m < members; m++) {
                if (ensemble[m] instanceof MoaDriver.Column) {
                    ((MoaDriver.Column) ensemble[m]).index = m;
                }
            }
        }

        String member(int m) {
            return scms[m] + " " + swms[m] + " " + getEnsembleMemberWeight(m);
        }
    }

    private static Instance[] read(String path) throws Exception {
        try (DataInputStream in = Headers.open(path)) {
            int count = in.readInt();
            int width = in.readInt();
            InstancesHeader header = Headers.of(width, "0", "1");
            Instance[] rows = new Instance[count];
            for (int i = 0; i < count; i++) {
                double[] values = new double[width + 1];
                for (int j = 0; j <= width; j++) {
                    values[j] = in.readDouble();
                }
                rows[i] = new InstanceImpl(1.0, values);
                rows[i].setDataset(header);
            }
            return rows;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Instance[] rows = read(arguments[0]);
        int members = Integer.parseInt(arguments[4]);
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        Oza booster = null;
        StringBuilder answers = null;
        long cpu = 0;
        for (int pass = 0; pass < 2; pass++) {
            booster = new Oza();
            booster.start(
                    arguments[1], arguments[2].equals("weighted"), Integer.parseInt(arguments[3]), members);
            booster.setModelContext((InstancesHeader) rows[0].dataset());
            answers = new StringBuilder();
            long start = clock.getCurrentThreadCpuTime();
            for (Instance row : rows) {
                answers.append(Utils.maxIndex(booster.getVotesForInstance(row)));
                booster.trainOnInstance(row);
            }
            cpu = clock.getCurrentThreadCpuTime() - start;
        }
        StringBuilder ends = new StringBuilder();
        for (int m = 0; m < members; m++) {
            ends.append(m == 0 ? "" : " ").append(booster.member(m));
        }
        System.out.println(cpu);
        System.out.println(answers);
        System.out.println(ends);
    }
}
