import com.yahoo.labs.samoa.instances.DenseInstanceData;
import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.InstanceData;
import com.yahoo.labs.samoa.instances.InstanceImpl;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import moa.classifiers.AbstractClassifier;
import moa.classifiers.Classifier;
import moa.classifiers.MultiClassClassifier;
import moa.classifiers.meta.OCBoost;
import moa.classifiers.meta.OzaBoost;
import moa.core.Measurement;

/**
 * Times MOA's OCBoost and OzaBoost over fixed columns of ±1, one example at a time.
 *
 * <p>Usage: MoaDriver file ocboost|ozaboost shared|deep [smoothing]. The file holds two big-endian ints,
 * n and J, then n rows of J + 1 bytes: the J answers, then the label, each -1 or +1. Commands come on standard
 * input, one a line, two numbers each: "count chunk" trains on the next count examples (the rows are a
 * ring), resetting the model, outside the clock, before every chunk of them; with a chunk of 0 it is not
 * reset. Each is answered by one line: CPU ns, wall ns, how many of the J weights
 * are now NaN, the largest finite |weight|. "weights" is answered by the J weights themselves.
 */
public final class MoaDriver {
    private MoaDriver() {}

    /** Answers with the sign of one attribute and learns nothing, so that only the booster is timed. */
    public static final class Column extends AbstractClassifier implements MultiClassClassifier {
        private static final long serialVersionUID = 1L;
        private static final double[][] VOTES = {{1.0, 0.0}, {0.0, 1.0}};
        int index;

        @Override
        public double[] getVotesForInstance(Instance example) {
            return VOTES[example.value(index) > 0.0 ? 1 : 0];
        }

        @Override
        public void trainOnInstanceImpl(Instance example) {}

        @Override
        public void resetLearningImpl() {}

        @Override
        public boolean isRandomizable() {
            return false;
        }

        @Override
        protected Measurement[] getModelMeasurementsImpl() {
            return new Measurement[0];
        }

        @Override
        public void getModelDescription(StringBuilder out, int indent) {}

        /** MOA's own copy goes through serialisation; a plain one keeps setting up short. */
        @Override
        public Classifier copy() {
            Column twin = new Column();
            twin.index = index;
            return twin;
        }
    }

    /**
     * An example whose copies share its attributes. MOA copies the example for every member of the
     * ensemble, J doubles each time; that is a cost of the framework, not of boosting, so it is spared.
     */
    private static final class SharedInstance extends InstanceImpl {
        private static final long serialVersionUID = 1L;

        SharedInstance(double weight, InstanceData values, InstancesHeader header) {
            super(weight, values);
            this.instanceHeader = header;
        }

        @Override
        public Instance copy() {
            return new SharedInstance(this.weight, this.instanceData, this.instanceHeader);
        }
    }

    /** What the loop needs of either booster; the fields read here are protected in MOA. */
    private interface Booster {
        /** Member j becomes column j, after every reset. */
        void start(int width);

        void train(Instance example);

        double weight(int member);
    }

    private static final class Ocb extends OCBoost implements Booster {
        private static final long serialVersionUID = 1L;
        private final String smoothing;

        /** A null smoothing leaves MOA's default. */
        Ocb(String smoothing) {
            this.smoothing = smoothing;
        }

        @Override
        public void start(int width) {
            baseLearnerOption.setCurrentObject(new Column());
            ensembleSizeOption.setValue(width);
            if (smoothing != null) {
                smoothingOption.setValue(Double.parseDouble(smoothing));
            }
            prepareForUse();
            resetLearning();
            number(ensemble);
        }

        @Override
        public void train(Instance example) {
            trainOnInstance(example);
        }

        @Override
        public double weight(int member) {
            return getEnsembleMemberWeight(member);
        }
    }

    private static final class Oza extends OzaBoost implements Booster {
        private static final long serialVersionUID = 1L;

        @Override
        public void start(int width) {
            baseLearnerOption.setCurrentObject(new Column());
            ensembleSizeOption.setValue(width);
            // Fixed members have no use for Poisson draws, so weights are passed on as they are.
            pureBoostOption.setValue(true);
            prepareForUse();
            resetLearning();
            number(ensemble);
        }

        @Override
        public void train(Instance example) {
            trainOnInstance(example);
        }

        @Override
        public double weight(int member) {
            return getEnsembleMemberWeight(member);
        }
    }

    private static void number(Classifier[] ensemble) {
        for (int j = 0; j < ensemble.length; j++) {
            ((Column) ensemble[j]).index = j;
        }
    }

    private static Instance[] read(String path, boolean deep) throws Exception {
        try (DataInputStream in = Headers.open(path)) {
            int count = in.readInt();
            int width = in.readInt();
            InstancesHeader header = Headers.of(width, "-1", "+1");
            Instance[] rows = new Instance[count];
            byte[] line = new byte[width + 1];
            for (int i = 0; i < count; i++) {
                in.readFully(line);
                double[] values = new double[width + 1];
                for (int j = 0; j < width; j++) {
                    values[j] = line[j];
                }
                values[width] = line[width] > 0 ? 1.0 : 0.0;
                if (deep) {
                    rows[i] = new InstanceImpl(1.0, values);
                    rows[i].setDataset(header);
                } else {
                    rows[i] = new SharedInstance(1.0, new DenseInstanceData(values), header);
                }
            }
            return rows;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Instance[] rows = read(arguments[0], arguments[2].equals("deep"));
        int width = rows[0].numAttributes() - 1;
        Booster booster =
                arguments[1].equals("ocboost")
                        ? new Ocb(arguments.length > 3 ? arguments[3] : null)
                        : new Oza();
        booster.start(width);
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        System.out.println("ready " + width);
        int next = 0;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (line.trim().equals("weights")) {
                StringBuilder weights = new StringBuilder();
                for (int j = 0; j < width; j++) {
                    weights.append(j > 0 ? " " : "").append(booster.weight(j));
                }
                System.out.println(weights);
                continue;
            }
            String[] numbers = line.trim().split(" ");
            int count = Integer.parseInt(numbers[0]);
            int chunk = Integer.parseInt(numbers[1]);
            long wall = 0;
            long cpu = 0;
            for (int done = 0; done < count; ) {
                int end = chunk > 0 ? Math.min(done + chunk, count) : count;
                if (chunk > 0) {
                    booster.start(width);
                }
                long wallStart = System.nanoTime();
                long cpuStart = clock.getCurrentThreadCpuTime();
                for (; done < end; done++) {
                    booster.train(rows[next]);
                    next = next + 1 == rows.length ? 0 : next + 1;
                }
                cpu += clock.getCurrentThreadCpuTime() - cpuStart;
                wall += System.nanoTime() - wallStart;
            }
            int nan = 0;
            double largest = 0.0;
            for (int j = 0; j < width; j++) {
                double alpha = booster.weight(j);
                if (Double.isNaN(alpha)) {
                    nan++;
                } else if (!Double.isInfinite(alpha)) {
                    largest = Math.max(largest, Math.abs(alpha));
                }
            }
            System.out.println(cpu + " " + wall + " " + nan + " " + largest);
        }
    }
}
